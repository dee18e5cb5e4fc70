"""The files that the demo's story uses: what users would write, in its folder."""

from textwrap import dedent

QUICK = dedent("""\
    # Callers of this demo take no half a minute to leave.
    gateway: {drain: 1, linger: 0}
    egress: {drain: 1, linger: 0}
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

FILES = {"quick.yaml": QUICK, "nginx.yaml": NGINX, "callers.yaml": CALLERS}
