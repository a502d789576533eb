"""What API validation accepts before steering, it accepts after: asked of a real API server, by dry runs."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from devcluster.cluster import DevCluster
from tests.admission.nodematch import PREFERRED, REQUIRED
from tests.admission.reviews import Json, patched, review
from tests.admission.strategies import policies, requirements, selectors, tolerations
from tests.cases.real import Api
from webhook.admission.mutate import mutate
from webhook.policy.model import Policy

PODS = "/api/v1/namespaces/default/pods?dryRun=All"


@pytest.fixture(scope="module")
def api(cluster: DevCluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Api]:
    api = Api(cluster, tmp_path_factory.mktemp("api"))
    yield api
    api.close()


def optional(**fields: st.SearchStrategy[object]) -> st.SearchStrategy[Json]:
    return st.fixed_dictionaries({}, optional=fields)


valid_terms = st.lists(requirements, max_size=2).map(lambda expressions: {"matchExpressions": expressions})
valid_selectors = st.lists(valid_terms, min_size=1, max_size=2).map(lambda some: {"nodeSelectorTerms": some})
preferences = st.fixed_dictionaries({"weight": st.integers(1, 100), "preference": valid_terms})
node_affinities = optional(
    **{REQUIRED: valid_selectors | selectors, PREFERRED: st.lists(preferences, max_size=2)}
)
specs = optional(
    affinity=st.none() | optional(nodeAffinity=st.none() | node_affinities),
    tolerations=st.none() | st.lists(tolerations, max_size=2),
    schedulerName=st.sampled_from(["default-scheduler", "volcano", "ours"]),
)


@settings(
    max_examples=50,
    suppress_health_check=[
        HealthCheck.function_scoped_fixture,
        HealthCheck.filter_too_much,
        HealthCheck.too_slow,
    ],
)
@given(spec=specs, policy=policies)
def test_a_steered_pod_is_as_valid_as_it_was(api: Api, spec: Json, policy: Policy) -> None:
    before: Json = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "generated", "annotations": {"a": "b"}},
        "spec": {"containers": [{"name": "main", "image": "nginx"}], **spec},
    }
    asked = review(before)
    after = patched(before, asked, mutate(asked, policy, opted_in_by="namespace"))
    assume(after != before)
    assume(api.request("POST", PODS, before).status == 201)

    answer = api.request("POST", PODS, after)

    assert answer.status == 201, answer.body["message"]
