"""Whether an address answers, found out in seconds where a download would retry for minutes."""

import threading
import urllib.error
import urllib.request

SECONDS = 7.0
_NO_HEAD = (403, 405, 501)


def unreachable(url: str, seconds: float = SECONDS) -> str | None:
    """Return why `url` cannot be fetched, or None when its server answers.

    The question is asked in a thread, because looking a name up has no time limit of its own. Proxies of the environment
    are used, as the download would use them.
    """
    reasons: list[str | None] = [f"no answer within {seconds:g} s"]

    def ask() -> None:
        try:
            with urllib.request.urlopen(urllib.request.Request(url, method="HEAD"), timeout=seconds):
                reasons.append(None)
        except urllib.error.HTTPError as error:
            # some servers, such as those with signed addresses, answer GET alone
            reasons.append(None if error.code in _NO_HEAD else str(error.reason))
        except urllib.error.URLError as error:
            reasons.append(str(error.reason))
        except OSError as error:
            reasons.append(str(error))

    thread = threading.Thread(target=ask, daemon=True)
    thread.start()
    thread.join(seconds)
    return reasons[-1]
