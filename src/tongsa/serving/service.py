"""What every route needs: the settings, the models, the counters, and who may ask."""

from dataclasses import dataclass
from typing import cast

from starlette.requests import Request

from tongsa.serving.config import ServingConfig
from tongsa.serving.keys import Keys
from tongsa.serving.limits import Rates, network
from tongsa.serving.metrics import Metrics
from tongsa.serving.models import Models
from tongsa.serving.refusal import Refusal


@dataclass(frozen=True)
class Service:
    config: ServingConfig
    models: Models
    metrics: Metrics
    keys: Keys
    rates: Rates

    def admit(self, request: Request, key: str = "") -> None:
        """Count the request for whoever sends it, or refuse it. `key` may have come in the body."""
        if not self.keys.wanted:
            self.rates.take(network(request.client.host if request.client else ""))
            return
        given = key or sent_key(request)
        if not given:
            raise Refusal(401, "no_key", "an API key is needed; send it as Authorization: Bearer KEY")
        owner = self.keys.owner(given)
        if owner is None:
            raise Refusal(403, "wrong_key", "this API key opens nothing; ask whoever runs this server for another")
        request.scope["tongsa.key"] = owner
        self.rates.take(owner)


def sent_key(request: Request) -> str:
    scheme, _, token = request.headers.get("authorization", "").partition(" ")
    return token.strip() if scheme.lower() == "bearer" else request.headers.get("x-api-key", "")


def service_of(request: Request) -> Service:
    return cast(Service, request.app.state.service)
