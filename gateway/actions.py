"""The names under which the gateway's changes stand in the log."""

ACTIONS = {
    "run.opened": "Run opened",
    "call.cancel_asked": "Cancelling of a call asked for",
    "call.reconciled": "Unknown outcome settled",
    "call.run_again": "Call let run again",
    "gateway.icons_fetched": "Icons fetched",
}
