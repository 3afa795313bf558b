import unittest

from config import parse_config


class ParseConfig(unittest.TestCase):
    def test_a_line_is_a_key_and_a_value(self):
        self.assertEqual(parse_config("a=1"), {"a": "1"})
