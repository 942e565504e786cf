"""What every route needs: the settings, the models, the counters, and who may ask."""

from dataclasses import dataclass
from typing import cast

from starlette.requests import Request

from tongsa.server.auth import APIKeys
from tongsa.server.config import ServerConfig
from tongsa.server.errors import APIError
from tongsa.server.metrics import ServerMetrics
from tongsa.server.model_pool import ModelPool
from tongsa.server.rate_limit import RateLimiter, network


@dataclass(frozen=True)
class ServerContext:
    config: ServerConfig
    models: ModelPool
    metrics: ServerMetrics
    keys: APIKeys
    rate_limiter: RateLimiter

    def authorize(self, request: Request, key: str = "") -> None:
        """Count the request for whoever sends it, or refuse it. `key` may have come in the body."""
        if not self.keys.required:
            self.rate_limiter.take(network(request.client.host if request.client else ""))
            return
        given = key or key_from_request(request)
        if not given:
            raise APIError(401, "no_key", "an API key is needed; send it as Authorization: Bearer KEY")
        owner = self.keys.find_owner(given)
        if owner is None:
            raise APIError(403, "wrong_key", "this API key opens nothing; ask whoever runs this server for another")
        request.scope["tongsa.key"] = owner
        self.rate_limiter.take(owner)


def key_from_request(request: Request) -> str:
    scheme, _, token = request.headers.get("authorization", "").partition(" ")
    return token.strip() if scheme.lower() == "bearer" else request.headers.get("x-api-key", "")


def get_context(request: Request) -> ServerContext:
    return cast(ServerContext, request.app.state.service)
