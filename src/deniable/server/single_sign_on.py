"""OpenID Connect: the identity provider says who somebody is, the server's own configuration says what they may do.

The code flow with PKCE, a state and a nonce, each fresh for every attempt and kept on this side. Only the configured issuer is ever
called: an address from its discovery document that lies elsewhere is refused.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from time import time
from typing import Any
from urllib.parse import urlencode, urlsplit

from deniable.errors import DeniableError
from deniable.server.identity import ShortLived, secret

_PATIENCE = 600.0
"""Seconds in which an attempt to log in must come back."""

_LEEWAY = 60
"""Seconds by which the provider's clock and ours may differ."""

_ALGORITHMS = ["RS256", "ES256"]


class LoginFailed(DeniableError):
    """The provider's word could not be taken; one text for every cause."""

    def __init__(self) -> None:
        super().__init__("this log-in could not be completed; begin again")


@dataclass(frozen=True, slots=True, kw_only=True)
class Provider:
    """An identity provider: its issuer, what this server is called there, and the claim that names a person."""

    issuer: str
    client_id: str
    client_secret: str
    claim: str = "sub"


class SingleSignOn:
    """Log-ins by one provider. `http` is an httpx client; tests and proxies may give their own."""

    def __init__(
        self,
        provider: Provider,
        *,
        callback: str,
        kept: ShortLived | None = None,
        http: Any = None,
        clock: Callable[[], float] = time,
    ) -> None:
        import httpx

        self._provider, self._callback, self._clock = provider, callback, clock
        safe = urlsplit(provider.issuer).scheme == "https"  # else a proxy of the environment would read the secret
        self._http = http or httpx.Client(timeout=10, follow_redirects=False, trust_env=safe)
        self._attempts = kept or ShortLived(clock=clock)
        self._found: Mapping[str, Any] | None = None

    def begin(self) -> tuple[str, str]:
        """A new attempt: its id, for a cookie, and the provider's address to go to."""
        attempt = {name: secret() for name in ("state", "nonce", "verifier")}
        id = self._attempts.keep(attempt, seconds=_PATIENCE)
        digest = hashlib.sha256(attempt["verifier"].encode()).digest()
        asked = {
            "response_type": "code",
            "client_id": self._provider.client_id,
            "redirect_uri": self._callback,
            "scope": "openid profile email",
            "state": attempt["state"],
            "nonce": attempt["nonce"],
            "code_challenge": base64.urlsafe_b64encode(digest).rstrip(b"=").decode(),
            "code_challenge_method": "S256",
        }
        return id, f"{self._endpoint('authorization_endpoint')}?{urlencode(asked)}"

    def finish(self, id: str | None, *, state: str, code: str) -> str:
        """The name the provider proves; an attempt is good for one try."""
        attempt = self._attempts.take(id)
        if attempt is None or not hmac.compare_digest(attempt.get("state", "none").encode(), state.encode()):
            raise LoginFailed
        try:
            claims = self._claims(self._token(code, attempt["verifier"]))
        except LoginFailed:
            raise
        except Exception:  # whatever a provider answers, the text is ours
            raise LoginFailed from None
        name = claims.get(self._provider.claim)
        if claims.get("nonce") != attempt["nonce"] or not isinstance(name, str):
            raise LoginFailed
        return name

    def _token(self, code: str, verifier: str) -> str:
        answer = self._http.post(
            self._endpoint("token_endpoint"),
            data={
                "grant_type": "authorization_code",
                "code": code,
                "redirect_uri": self._callback,
                "code_verifier": verifier,
            },
            auth=(self._provider.client_id, self._provider.client_secret),
        )
        return str(answer.raise_for_status().json()["id_token"])

    def _claims(self, token: str) -> Mapping[str, Any]:
        """What the token says, if the issuer signed it for us and it has not ended."""
        from joserfc import jwt
        from joserfc.jwk import KeySet

        keys = KeySet.import_key_set(self._http.get(self._endpoint("jwks_uri")).raise_for_status().json())
        claims: dict[str, Any] = jwt.decode(token, keys, algorithms=_ALGORITHMS).claims
        rules = jwt.JWTClaimsRegistry(
            now=lambda: int(self._clock()),
            leeway=_LEEWAY,
            iss={"essential": True, "value": self._provider.issuer},
            aud={"essential": True, "value": self._provider.client_id},
            exp={"essential": True},
        )
        rules.validate(claims)
        return claims

    def _endpoint(self, name: str) -> str:
        """An address of the provider, at the issuer's own host."""
        if self._found is None:
            address = self._provider.issuer.rstrip("/") + "/.well-known/openid-configuration"
            found = self._http.get(address).raise_for_status().json()
            if not isinstance(found, Mapping) or found.get("issuer") != self._provider.issuer:
                raise LoginFailed
            self._found = found
        place, issuer = urlsplit(str(self._found.get(name, ""))), urlsplit(self._provider.issuer)
        if (place.scheme, place.netloc) != (issuer.scheme, issuer.netloc):
            raise LoginFailed
        return place.geturl()
