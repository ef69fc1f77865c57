import json

from coterie.report.markup import Html, element, embedded_json, join


def test_text_is_escaped_and_markup_is_not():
    assert element("p", "<b>", Html("<i>x</i>"), None, 3) == "<p>&lt;b&gt;<i>x</i>3</p>"
    assert join("a & b", element("br")) == "a &amp; b<br/>"


def test_attributes_are_escaped_and_named_as_in_html():
    made = element("td", "x", class_="a", data_row='"><script>', title=None, name="n")
    assert made == '<td class="a" data-row="&quot;&gt;&lt;script&gt;" name="n">x</td>'


def test_empty_elements_are_closed_unless_html_knows_them_as_void():
    assert element("span") == "<span></span>"
    assert element("rect", x=1) == '<rect x="1"/>'


def test_no_text_ends_a_script():
    data = {"cell": "</script><!--&\u2028é"}
    made = embedded_json(data, "rows")
    inside = made.removeprefix('<script type="application/json" id="rows">')
    inside = inside.removesuffix("</script>")
    assert not set("<>&\u2028") & set(inside)
    assert json.loads(inside) == data
