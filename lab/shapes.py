"""Writes the table of field shapes of the built-in kinds from the Go sources of Kubernetes' API.

Usage: python -m lab.shapes MODULES > src/isthmus/embedded/kinds/shapes.txt, where MODULES is the
folder that holds k8s.io/api, k8s.io/apimachinery and k8s.io/apiextensions-apiserver as the Go
module cache keeps them (`go env GOMODCACHE`/k8s.io). Only facts that JSON shows are kept: the
names of fields, their types, and whether an empty value is written.
"""

import re
import sys
from pathlib import Path

VERSION = "v0.36.3"
SOURCES = {
    "core": f"api@{VERSION}/core/v1/types.go",
    "apps": f"api@{VERSION}/apps/v1/types.go",
    "discovery": f"api@{VERSION}/discovery/v1/types.go",
    "events": f"api@{VERSION}/events/v1/types.go",
    "coordination": f"api@{VERSION}/coordination/v1/types.go",
    "authentication": f"api@{VERSION}/authentication/v1/types.go",
    "authorization": f"api@{VERSION}/authorization/v1/types.go",
    "autoscaling": f"api@{VERSION}/autoscaling/v1/types.go",
    "rbac": f"api@{VERSION}/rbac/v1/types.go",
    "policy": f"api@{VERSION}/policy/v1/types.go",
    "networking": f"api@{VERSION}/networking/v1/types.go",
    "admission": f"api@{VERSION}/admissionregistration/v1/types.go",
    "meta": f"apimachinery@{VERSION}/pkg/apis/meta/v1/types.go",
    "crd": f"apiextensions-apiserver@{VERSION}/pkg/apis/apiextensions/v1/types.go",
    "schema": f"apiextensions-apiserver@{VERSION}/pkg/apis/apiextensions/v1/types_jsonschema.go",
}
KINDS = {
    "core": "Namespace Service Endpoints Pod Node Secret ConfigMap ServiceAccount Event",
    "apps": "Deployment StatefulSet DaemonSet ReplicaSet",
    "discovery": "EndpointSlice",
    "events": "Event",
    "coordination": "Lease",
    "authentication": "TokenRequest TokenReview SelfSubjectReview",
    "authorization": "SubjectAccessReview SelfSubjectAccessReview LocalSubjectAccessReview "
    "SelfSubjectRulesReview",
    "autoscaling": "Scale",
    "rbac": "Role RoleBinding ClusterRole ClusterRoleBinding",
    "policy": "PodDisruptionBudget",
    "networking": "NetworkPolicy",
    "admission": "ValidatingAdmissionPolicy ValidatingAdmissionPolicyBinding",
    "crd": "CustomResourceDefinition",
}
LEAVES = {
    "string": "string",
    "bool": "bool",
    "int": "int64",
    "int32": "int32",
    "int64": "int64",
    "float64": "float64",
    "byte": "byte",
    "metav1.Time": "Time",
    "Time": "Time",
    "metav1.MicroTime": "MicroTime",
    "resource.Quantity": "Quantity",
    "intstr.IntOrString": "IntOrString",
    "types.UID": "string",
    "runtime.RawExtension": "any",
    "FieldsV1": "any",
    "JSON": "any",
    "JSONSchemaPropsOrArray": "SchemaOrList",
    "JSONSchemaPropsOrBool": "SchemaOrBool",
    "JSONSchemaPropsOrStringArray": "any",
    "JSONSchemaURL": "string",
}
PACKAGES = {"v1": "core", "corev1": "core", "metav1": "meta", "apiv1": "core", "autoscalingv1": "x"}
FIELD = re.compile(r'^\t(?:(\w+)\s+)?([\w.*\[\]]+)\s+`json:"([^"]*)"')


def structs(text: str) -> dict[str, list[tuple[str, str]]]:
    """Every struct's fields, as (type, json tag)."""
    empty = re.findall(r"^type (\w+) struct *\{\}$", text, re.M)
    found: dict[str, list[tuple[str, str]]] = {name: [] for name in empty}
    for match in re.finditer(r"^type (\w+) struct \{\n(.*?)^\}", text, re.S | re.M):
        lines = map(FIELD.match, match[2].splitlines())
        found[match[1]] = [(line[2], line[3]) for line in lines if line]
    return found


def aliases(text: str) -> dict[str, str]:
    """Named types that are not structs: ``type Protocol string``, also inside ``type ( … )``."""
    plain = re.findall(
        r"^(?:type |\t)(\w+) (string|int32|bool|(?:\[\]|map\[[\w.]+\])[\w.]+)$", text, re.M
    )
    return dict(plain)


class Table:
    def __init__(self, modules: Path) -> None:
        texts = {name: (modules / path).read_text() for name, path in SOURCES.items()}
        texts["crd"] += texts.pop("schema")
        self.structs = {name: structs(text) for name, text in texts.items()}
        self.aliases = {name: aliases(text) for name, text in texts.items()}
        self.lines: dict[str, str] = {}

    def shape(self, package: str, go: str) -> str:
        """A Go type in the table's words; adds the structs it leads to."""
        if go.startswith("*"):
            return "*" + self.shape(package, go[1:])
        if go == "[]byte":
            return "bytes"
        if go.startswith("[]"):
            return "[]" + self.shape(package, go[2:])
        if match := re.match(r"map\[[\w.]+\](.+)", go):
            return "{}" + self.shape(package, match[1])
        if go in LEAVES:
            return LEAVES[go]
        prefix, _, name = go.rpartition(".")
        home = PACKAGES.get(prefix, package) if prefix else package
        if name in self.aliases[home]:
            return self.shape(home, self.aliases[home][name])
        label = f"{home}.{name}"
        if label not in self.lines:
            self.lines[label] = ""
            self.lines[label] = " ".join(self.fields(home, name))
        return label

    def fields(self, package: str, name: str) -> list[str]:
        found: list[str] = []
        for go, tag in self.structs[package][name]:
            key, *options = tag.split(",")
            if "inline" in options or not key:
                if not go.endswith("TypeMeta"):
                    prefix, _, inner = go.rpartition(".")
                    found += self.fields(PACKAGES.get(prefix, package), inner)
                continue
            if key == "-":
                continue
            shape = self.shape(package, go)
            # Go's encoder never finds a struct empty; only "omitzero" can leave one out.
            kept = (
                shape.startswith(("Time", "MicroTime", "IntOrString")) or "." in shape.split("]")[0]
            )
            kept = kept and not shape.startswith(("*", "[]", "{}")) and "omitzero" not in options
            always = "!" if kept or not {"omitempty", "omitzero"} & set(options) else ""
            found.append(f"{key}:{shape}{always}")
        return found


def main() -> None:
    table = Table(Path(sys.argv[1]))
    for package, kinds in KINDS.items():
        for kind in kinds.split():
            table.shape(package, kind)
    for name in sorted(table.lines):
        print(name, table.lines[name])


if __name__ == "__main__":
    main()
