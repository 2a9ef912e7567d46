"""The names under which the gateway's changes stand in the log."""

ACTIONS = {
    "run.opened": "Run opened",
    "gateway.icons_fetched": "Icons fetched",
}
