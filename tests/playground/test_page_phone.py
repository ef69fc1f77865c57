"""The page on a phone: a browser that emulates one, with fingers."""

import pytest

PHONE = {
    "viewport": {"width": 375, "height": 720},
    "device_scale_factor": 2,
    "has_touch": True,
    "is_mobile": True,
    "user_agent": "Mozilla/5.0 (Linux; Android 14; Pixel 7) AppleWebKit/537.36 (KHTML, like Gecko)"
    " Chrome/130.0.0.0 Mobile Safari/537.36",
}


class Hand:
    """Fingers on the screen, at places of it by their number."""

    def __init__(self, visitor):
        self.session = visitor.context.new_cdp_session(visitor.page)

    def put(self, **fingers):
        self._send("touchStart", fingers)

    def move(self, **fingers):
        self._send("touchMove", fingers)

    def lift(self):
        self._send("touchEnd", {})

    def _send(self, kind, fingers):
        points = [{"x": x, "y": y, "id": int(name[1:])} for name, (x, y) in fingers.items()]
        self.session.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})


@pytest.fixture
def visitor(visit):
    return visit(**PHONE)


def test_everything_fits_and_can_be_reached(visitor):
    page = visitor.page
    visitor.upload("t.csv", "first,second,third\n" + "1,2,3\n4,5,7\n6,1,9\n" * 5)
    page.wait_for_selector('body[data-points="15"]')
    with visitor.clustering():
        page.get_by_text("Between").tap()
    assert page.evaluate("() => document.documentElement.scrollWidth") <= 375
    controls = page.locator(
        "button:visible, select:visible, input[type=checkbox]:visible, input[type=number]:visible"
    )
    for control in controls.all():
        control.scroll_into_view_if_needed()
        box = control.bounding_box()
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= 375
        if control.is_enabled():
            control.tap(trial=True)  # nothing covers it


def test_buttons_are_as_large_as_a_finger_needs(visitor):
    for button in visitor.page.locator("header button:visible, aside button:visible").all():
        assert button.bounding_box()["height"] >= 40


def test_a_finger_draws(visitor):
    visitor.clear()
    hand = Hand(visitor)
    hand.put(f1=visitor.place(0.2, 0.3))
    hand.move(f1=visitor.place(0.25, 0.35))
    visitor.until_points(20)
    hand.lift()
    drawn = visitor.n_points
    visitor.painted()
    assert visitor.n_points == drawn  # the brush is off the canvas
    hand.put(f1=visitor.place(0.8, 0.7))
    visitor.until_points(drawn + 20)
    hand.lift()
    visitor.wait()
    assert visitor.n_clusters >= 1


def test_a_finger_that_draws_does_not_scroll(visitor):
    hand = Hand(visitor)
    hand.put(f1=visitor.place(0.5, 0.8))
    for y in (0.6, 0.4, 0.2):
        hand.move(f1=visitor.place(0.5, y))
    hand.lift()
    assert visitor.page.evaluate("() => scrollY") == 0


def test_two_fingers_draw_nothing_and_break_nothing(visitor):
    visitor.clear()
    hand = Hand(visitor)
    hand.put(f1=visitor.place(0.4, 0.5))
    hand.put(f1=visitor.place(0.4, 0.5), f2=visitor.place(0.6, 0.5))
    for apart in (0.15, 0.25, 0.35):
        hand.move(f1=visitor.place(0.5 - apart, 0.5), f2=visitor.place(0.5 + apart, 0.5))
    hand.lift()
    visitor.page.wait_for_selector('body[data-points="0"]')
    visitor.painted()
    assert visitor.n_points == 0  # what the first finger drew is taken back
    hand.put(f1=visitor.place())
    visitor.until_points(20)
    hand.lift()
    visitor.wait()
    assert visitor.n_points == int(visitor.panel().get_attribute("data-points"))


def test_a_table_can_be_scrolled_over(visitor):
    """Where nothing can be drawn, a finger on the canvas scrolls the page."""
    rows = "1,200000,3\n4,500000,9\n7,800000,2\n" * 5
    visitor.upload("wide.csv", f"a,b,c\n{rows}")
    visitor.page.wait_for_selector('body[data-drawing="no"]')
    canvas = visitor.panel().locator("canvas")
    assert canvas.evaluate("(canvas) => getComputedStyle(canvas).touchAction") == "auto"
