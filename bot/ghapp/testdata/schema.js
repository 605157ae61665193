// Checks queries, and answers to them, by GitHub's own GraphQL schema and the
// reference implementation of GraphQL. Standard input is a list of objects with
// query and, for an answer, variables and data; standard output is, for each, the
// list of what is wrong with it.
const fs = require("fs");
const path = require("path");
const { buildSchema, parse, validate, execute } = require("graphql");
const { isDeepStrictEqual } = require("util");

const idl = path.join(process.env.NODE_PATH, "@octokit", "graphql-schema", "schema.graphql");
const schema = buildSchema(fs.readFileSync(idl, "utf8"), { assumeValid: true });

function check({ query, variables, data }) {
  let document;
  try {
    document = parse(query);
  } catch (e) {
    return [e.message];
  }
  const wrong = validate(schema, document).map((e) => e.message);
  if (wrong.length > 0 || data === undefined) return wrong;
  const got = execute({
    schema, document, variableValues: variables, rootValue: data,
    fieldResolver: (source, args, context, info) => source[info.path.key],
    typeResolver: (source) => source.__typename,
  });
  if (got.errors) return got.errors.map((e) => e.message);
  // Without the objects' missing prototypes.
  return isDeepStrictEqual(JSON.parse(JSON.stringify(got.data)), data) ? [] : ["the answer has other fields than the query asks for"];
}

console.log(JSON.stringify(JSON.parse(fs.readFileSync(0)).map(check)));
