//! The JSON Schema of the control protocol (CFG-11): what either side may say in a line.
//!
//! Invariant: it is made of the types that are read and written; every op has its answer.

use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde_json::{Map, Value, json};

use super::agent::AgentsView;
use super::answer::{
    ActedView, HarnessesView, PageView, ProfileUsed, ReloadView, RunsView, SubscribedView, SuccessorView,
};
use super::doctor::DoctorView;
use super::event::Event;
use super::message::{ErrorBody, Op, PROTOCOL, Welcome};
use super::plan::{PlanView, SyncView};
use super::project::{LoweredView, ProjectsView, RaisedView};
use super::skills::SkillsView;
use super::trajectories::{RunView, TrajectoriesView, UsageView};
use super::view::{Description, StatusView};
use crate::base::schema_generator;

type Describe = fn(&mut SchemaGenerator) -> Schema;

fn of<T: JsonSchema>(generator: &mut SchemaGenerator) -> Schema {
    generator.subschema_for::<T>()
}

/// What each op is answered with.
const ANSWERS: &[(&str, Describe)] = &[
    ("hello", of::<Welcome>),
    ("status", of::<StatusView>),
    ("list", of::<HarnessesView>),
    ("describe", of::<Description>),
    ("start", of::<ActedView>),
    ("stop", of::<ActedView>),
    ("restart", of::<ActedView>),
    ("use-profile", of::<ProfileUsed>),
    ("agents", of::<AgentsView>),
    ("doctor", of::<DoctorView>),
    ("reload", of::<ReloadView>),
    ("reexec", of::<SuccessorView>),
    ("up", of::<RaisedView>),
    ("down", of::<LoweredView>),
    ("ps", of::<ProjectsView>),
    ("runs", of::<RunsView>),
    ("show", of::<RunView>),
    ("skills", of::<SkillsView>),
    ("skills-sync", of::<SyncView>),
    ("plan", of::<PlanView>),
    ("trajectories", of::<TrajectoriesView>),
    ("trajectory", of::<PageView>),
    ("usage", of::<UsageView>),
    ("subscribe", of::<SubscribedView>),
];

/// The JSON Schema of a line of the socket. `OP.request` and `OP.answer` among its definitions are the
/// request of each op and the `ok` of its reply.
#[must_use]
pub fn schema() -> Value {
    let mut generator = schema_generator(SchemaSettings::draft2020_12().for_serialize());
    let answers: Vec<(String, Value)> =
        ANSWERS.iter().map(|(op, answer)| (format!("{op}.answer"), json!(answer(&mut generator)))).collect();
    let (event, error) = (of::<Event>(&mut generator), of::<ErrorBody>(&mut generator));
    let mut definitions = generator.take_definitions(true);
    let reference = |name: &str| json!({ "$ref": format!("#/$defs/{name}") });
    let requests = requests();
    let all = |list: &[(String, Value)]| list.iter().map(|(name, _)| reference(name)).collect::<Value>();
    let lines = [
        ("request", json!({"description": "What a client says.", "oneOf": all(&requests)})),
        (
            "reply",
            json!({
                "description": "What the daemon replies to the request of the same id; 0: the id could not be read.",
                "type": "object",
                "properties": {"id": {"type": "integer", "minimum": 0}, "ok": {"anyOf": all(&answers)}, "error": error},
                "oneOf": [{"required": ["id", "ok"]}, {"required": ["id", "error"]}],
            }),
        ),
    ];
    let root = json!([reference("request"), reference("reply"), event]);
    definitions.extend(lines.map(|(name, schema)| (name.to_owned(), schema)));
    definitions.extend(requests.into_iter().chain(answers));
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": format!("harnessd: control protocol {PROTOCOL}"),
        "description": "One JSON object a line. Answers may get further keys: pass over those that you do not know.",
        "anyOf": root,
        "$defs": definitions,
    })
}

/// The request of each op, by its name among the definitions.
fn requests() -> Vec<(String, Value)> {
    let generator = schema_generator(SchemaSettings::draft2020_12().for_deserialize());
    let mut schema = generator.into_root_schema_for::<Op>().to_value();
    let Value::Array(ops) = schema["oneOf"].take() else { return Vec::new() };
    let named = ops.into_iter().map(|mut op| {
        let name = format!("{}.request", op["properties"]["op"]["const"].as_str().unwrap_or_default());
        let id = json!({"description": "Chosen by the client; the reply carries it.", "type": "integer", "minimum": 0});
        let known = op["properties"].take();
        let known = known.as_object().cloned().unwrap_or_default();
        op["properties"] = [("id".to_owned(), id)].into_iter().chain(known).collect::<Map<_, _>>().into();
        if let Value::Array(required) = &mut op["required"] {
            required.insert(0, "id".into());
        }
        // `flatten` keeps serde from refusing what an op without fields does not know; `decode_request` refuses it.
        op["additionalProperties"] = false.into();
        (name, op)
    });
    named.collect()
}

#[cfg(test)]
mod tests {
    use super::{ANSWERS, schema};
    use crate::wire::request::OPS;

    /// CFG-11: every op has a request and an answer.
    #[test]
    fn every_op_has_an_answer() {
        let answered: Vec<&str> = ANSWERS.iter().map(|(op, _)| *op).collect();
        let known: Vec<&str> = OPS.iter().map(|(op, _)| *op).collect();
        assert_eq!(answered, known);
        let schema = schema();
        for (op, fields) in OPS {
            let request = &schema["$defs"][format!("{op}.request")];
            let properties: Vec<&String> = request["properties"].as_object().unwrap().keys().collect();
            let mut expected = vec!["id", "op"];
            expected.extend(fields.iter().map(|field| field.name));
            let mut properties: Vec<&str> = properties.into_iter().map(String::as_str).collect();
            properties.sort_unstable();
            expected.sort_unstable();
            assert_eq!(properties, expected, "{op}");
        }
    }
}
