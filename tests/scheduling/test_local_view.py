from __future__ import annotations

import msgspec
import pytest

from webhook.kube.meta import ObjectMeta
from webhook.scheduling.local_view import local_view
from webhook.scheduling.objects import Pod
from webhook.scheduling.testing import make_pod

OWN = {"name", "uid", "resource_version", "creation_timestamp"}
POD = msgspec.convert(
    {
        "metadata": {
            "name": "web-x7k2p",
            "generateName": "web-",
            "namespace": "team-a",
            "uid": "u",
            "resourceVersion": "7",
            "generation": 2,
            "creationTimestamp": "2026-01-01T00:00:00Z",
            "deletionTimestamp": "2026-01-02T00:00:00Z",
            "labels": {"app": "web"},
            "annotations": {"note": "n"},
            "ownerReferences": [{"kind": "ReplicaSet", "name": "web"}],
        }
    },
    Pod,
)


@pytest.mark.parametrize("field", sorted(OWN))
def test_what_each_pod_has_of_its_own_cannot_be_read(field: str) -> None:
    with pytest.raises(LookupError, match="which each pod has of its own; leave out `local`"):
        getattr(local_view(POD).metadata, field)


def test_the_key_of_a_pod_has_its_name_so_it_cannot_be_read_either() -> None:
    with pytest.raises(LookupError, match=r"metadata\.name"):
        _ = local_view(POD).key


@pytest.mark.parametrize("field", sorted({*ObjectMeta.__struct_fields__} - OWN))
def test_all_other_metadata_is_there(field: str) -> None:
    assert (
        getattr(local_view(POD).metadata, field)
        == getattr(POD.metadata, field)
        != getattr(ObjectMeta(), field)
    )


def test_only_the_volume_with_the_token_loses_its_name() -> None:
    names = ["data", "kube-api-access-x7k2p"]
    pod = make_pod(spec={"volumes": [{"name": name} for name in names]})

    assert [volume.name for volume in local_view(pod).spec.volumes] == ["data", "kube-api-access"]


def test_spec_and_status_are_there() -> None:
    pod = make_pod(cpu="1", spec={"priority": 7}, status={"nominatedNodeName": "n"})
    view = local_view(pod)

    assert (view.spec, view.status) == (pod.spec, pod.status)
