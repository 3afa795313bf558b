from src.cart import Line, checkout


def test_checkout() -> None:
    assert checkout([Line("tea", 2.5, 2), Line("cup", 4.0, 1)]) == 9.0
