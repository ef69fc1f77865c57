"""Requests made up from the OpenAPI description, right ones and wrong ones."""

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    negative_data_rejection,
    response_schema_conformance,
    status_code_conformance,
)

CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
]
OPERATIONS = [
    ("POST", "/api/cluster"),
    ("POST", "/api/table"),
    ("GET", "/api/methods"),
    ("GET", "/api/presets"),
    ("GET", "/api/presets/{name}"),
    ("GET", "/api/limits"),
]


@pytest.fixture(scope="session")
def description(address):
    return schemathesis.openapi.from_url(f"{address}/openapi.json")


def test_every_operation_is_tried(description):
    found = [each.ok() for each in description.get_all_operations()]
    assert sorted((each.method.upper(), each.path) for each in found) == sorted(OPERATIONS)


@pytest.mark.parametrize(("verb", "path"), OPERATIONS)
def test_no_request_breaks_the_server_or_its_promises(description, verb, path):
    operation = description[path][verb]
    wants_nothing = not operation.body and not operation.query and not operation.path_parameters

    @settings(
        max_examples=3 if wants_nothing else 40,
        suppress_health_check=list(HealthCheck),
        derandomize=True,
        database=None,
    )
    @given(case=operation.as_strategy())
    def right(case):
        case.call_and_validate(checks=CHECKS, timeout=60)

    right()
    if wants_nothing:
        return

    @settings(
        max_examples=30,
        suppress_health_check=list(HealthCheck),
        derandomize=True,
        database=None,
    )
    @given(case=operation.as_strategy(generation_mode=GenerationMode.NEGATIVE))
    def wrong(case):
        # Whatever is sent as CSV is text, so that it is wrong for the schema does not matter.
        strict = [] if case.media_type == "text/csv" else [negative_data_rejection]
        case.call_and_validate(checks=[*CHECKS, *strict], timeout=60)

    wrong()


@settings(max_examples=40, derandomize=True, database=None, deadline=None)
@given(body=st.binary(max_size=200) | st.text(alphabet='0123456789.,-+eE;\n\t"ab ').map(str.encode))
@pytest.mark.parametrize("kind", ["application/json", "text/csv"])
def test_no_bytes_break_it(client, kind, body):
    answer = client.post("/api/cluster", content=body, headers={"Content-Type": kind})
    assert answer.status_code in (200, 413, 422), answer.text
