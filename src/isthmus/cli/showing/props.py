"""The manifests that the demo's story applies: what users would write, in files of its folder."""

from textwrap import dedent

GRANT = dedent("""\
    apiVersion: isthmus.dev/v1alpha1
    kind: Grant
    metadata:
      name: east
    spec:
      cluster: east
      from:
        serviceAccounts: [default/curl]
    """)

_LINK = dedent("""\
    apiVersion: isthmus.dev/v1alpha1
    kind: Link
    metadata:
      name: west
    spec:
      gateway:
        addresses: [{gateway}]
      enableHeadlessServices: true
      probe: {{period: 1s, timeout: 1s, failureThreshold: 2}}
    """)

NGINX = dedent("""\
    apiVersion: v1
    kind: Service
    metadata:
      name: nginx-svc
    spec:
      clusterIP: None
      selector: {app: nginx}
      ports:
        - {name: http, port: 80}
    ---
    apiVersion: apps/v1
    kind: StatefulSet
    metadata:
      name: nginx-set
    spec:
      serviceName: nginx-svc
      replicas: 3
      selector:
        matchLabels: {app: nginx}
      template:
        metadata:
          labels: {app: nginx}
        spec:
          containers:
            - name: nginx
              image: nginx
              ports:
                - {name: http, containerPort: 80}
    """)

_CALLER = dedent("""\
    apiVersion: v1
    kind: ServiceAccount
    metadata:
      name: {name}
    ---
    apiVersion: v1
    kind: Pod
    metadata:
      name: {name}
    spec:
      serviceAccountName: {name}
      containers:
        - {{name: curl, image: curl}}
    """)

CALLERS = "---\n".join(_CALLER.format(name=name) for name in ("curl", "stranger"))


def link(gateway: str) -> str:
    """The Link to west, whose gateway is at this address."""
    return _LINK.format(gateway=gateway)
