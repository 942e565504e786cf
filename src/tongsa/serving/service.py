"""What every route needs: the settings, the models, the counters."""

from dataclasses import dataclass
from typing import cast

from starlette.requests import Request

from tongsa.serving.config import ServingConfig
from tongsa.serving.metrics import Metrics
from tongsa.serving.models import Models


@dataclass(frozen=True)
class Service:
    config: ServingConfig
    models: Models
    metrics: Metrics


def service_of(request: Request) -> Service:
    return cast(Service, request.app.state.service)
