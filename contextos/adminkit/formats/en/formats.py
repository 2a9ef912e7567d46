"""How dates look: one unambiguous way everywhere, with the zone named (FORMAT_MODULE_PATH)."""

DATE_FORMAT = "Y-m-d"
TIME_FORMAT = "H:i"
DATETIME_FORMAT = "Y-m-d H:i e"
SHORT_DATE_FORMAT = DATE_FORMAT
SHORT_DATETIME_FORMAT = DATETIME_FORMAT
FIRST_DAY_OF_WEEK = 1
