from __future__ import annotations

from webhook.scheduling.objects import Pod
from webhook.scheduling.plugins.image_locality import ImageLocality
from webhook.scheduling.testing import make_cache, make_node, make_pod, run_score

MIB = 1024 * 1024


def using(*images: str) -> Pod:
    return make_pod(
        spec={"containers": [{"name": f"c{i}", "image": image} for i, image in enumerate(images)]}
    )


def test_an_image_counts_its_size_times_the_share_of_nodes_that_have_it() -> None:
    cache = make_cache(
        make_node("has", images={"app:1": 1000 * MIB}),
        make_node("also", images={"app:1": 1000 * MIB}),
        make_node("no"),
        make_node("neither"),
    )

    # 1000 MiB on half the nodes: (500 - 23) * 100 // (1000 - 23)
    assert run_score(ImageLocality(), using("app:1"), cache) == {"has": 48, "also": 48, "no": 0, "neither": 0}


def test_a_name_without_a_tag_means_latest() -> None:
    cache = make_cache(make_node("n", images={"registry:5000/app:latest": 500 * MIB}))

    assert run_score(ImageLocality(), using("registry:5000/app"), cache) == {"n": 48}


def test_a_digest_is_taken_as_it_is() -> None:
    digest = "app@sha256:0123"
    cache = make_cache(make_node("n", images={digest: 500 * MIB}))

    assert run_score(ImageLocality(), using(digest), cache) == {"n": 48}


def test_small_images_give_nothing_and_large_ones_no_more_than_all() -> None:
    cache = make_cache(make_node("n", images={"small:1": 23 * MIB, "large:1": 5000 * MIB}))

    assert run_score(ImageLocality(), using("small:1"), cache) == {"n": 0}
    assert run_score(ImageLocality(), using("large:1"), cache) == {"n": 100}


def test_the_upper_bound_grows_with_the_number_of_images() -> None:
    cache = make_cache(make_node("n", images={"app:1": 1000 * MIB}))

    # two images: (1000 - 23) * 100 // (2000 - 23)
    assert run_score(ImageLocality(), using("app:1", "other:1"), cache) == {"n": 49}


def test_init_containers_and_image_volumes_count_too() -> None:
    cache = make_cache(make_node("n", images={"init:1": 1000 * MIB, "data:1": 1000 * MIB}))
    pod = make_pod(
        spec={
            "containers": [{"name": "c", "image": "missing:1"}],
            "initContainers": [{"name": "i", "image": "init:1"}],
            "volumes": [{"name": "v", "image": {"reference": "data:1"}}, {"name": "w", "emptyDir": {}}],
        }
    )

    # three images: (2000 - 23) * 100 // (3000 - 23)
    assert run_score(ImageLocality(), pod, cache) == {"n": 66}
