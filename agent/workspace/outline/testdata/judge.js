// The judge of TestJudge: what web-tree-sitter takes for definitions in files, as lines
// of "path<TAB>line<TAB>name". Files that a grammar cannot read whole are named on the
// other output. What is to be installed stands in judge_test.go.
//   node judge.js DIRECTORY-OF-NODE_MODULES FILE...
const fs = require('fs'), path = require('path');
const modules = path.resolve(process.argv[2]);
const { Parser, Language } = require(path.join(modules, 'web-tree-sitter/tree-sitter.cjs'));

const js = {
  function_declaration: 1, generator_function_declaration: 1, class_declaration: 1, abstract_class_declaration: 1,
  method_definition: 1, function_signature: 1, method_signature: 1, abstract_method_signature: 1,
  interface_declaration: 1, type_alias_declaration: 1, enum_declaration: 1, internal_module: 1, module: 1,
  function_expression: 1, generator_function: 1, class: 1,
  variable_declarator: n => valued(n.childForFieldName('value')) && only(n.childForFieldName('name'), 'identifier'),
  public_field_definition: n => valued(n.childForFieldName('value')) && n.childForFieldName('name'),
  field_definition: n => valued(n.childForFieldName('value')) && n.childForFieldName('property'),
  pair: n => valued(n.childForFieldName('value')) && only(n.childForFieldName('key'), 'property_identifier'),
  assignment_expression: n => valued(n.childForFieldName('right')) && assigned(n.childForFieldName('left')),
};
const valued = v => v && ['arrow_function', 'function_expression', 'generator_function'].includes(v.type);
const only = (n, ...types) => n && types.includes(n.type) ? n : null;
const assigned = l => l && (l.type === 'identifier' ? l : l.type === 'member_expression' ? l.childForFieldName('property') : null);
// declarator finds the name of what a C declarator declares, when it is a function.
const declarator = n => {
  let d = n.childForFieldName('declarator'), is = false;
  while (d) {
    if (d.type === 'function_declarator') is = true;
    const next = d.childForFieldName('declarator') || (d.type === 'reference_declarator' ? d.namedChild(0) : null);
    if (d.type === 'parenthesized_declarator') return null;
    if (!next) break;
    d = next;
  }
  while (d && d.type === 'qualified_identifier') d = d.childForFieldName('name');
  return is && d && ['identifier', 'field_identifier', 'destructor_name', 'operator_name'].includes(d.type) ? d : null;
};
const local = n => { for (let p = n.parent; p; p = p.parent) if (p.type === 'compound_statement') return true; return false; };
const body = n => n.childForFieldName('body') && n.childForFieldName('name');
const c = {
  function_definition: declarator, declaration: n => local(n) ? null : declarator(n), field_declaration: n => local(n) ? null : declarator(n),
  struct_specifier: body, union_specifier: body, enum_specifier: body, class_specifier: body, namespace_definition: 1,
  type_definition: n => only(n.childForFieldName('declarator'), 'type_identifier'),
  preproc_function_def: 1, alias_declaration: 1, concept_definition: 1,
};
const tables = {
  go: { function_declaration: 1, method_declaration: 1, type_spec: 1, type_alias: 1 },
  python: { class_definition: 1, function_definition: 1 },
  javascript: js, typescript: js, tsx: js,
  rust: { struct_item: 1, enum_item: 1, union_item: 1, type_item: 1, function_item: 1, function_signature_item: 1, associated_type: 1, trait_item: 1, mod_item: 1, macro_definition: 1 },
  java: { class_declaration: 1, method_declaration: 1, constructor_declaration: 1, compact_constructor_declaration: 1, interface_declaration: 1, enum_declaration: 1, record_declaration: 1, annotation_type_declaration: 1, annotation_type_element_declaration: 1 },
  c: c, cpp: c,
  c_sharp: { class_declaration: 1, interface_declaration: 1, struct_declaration: 1, enum_declaration: 1, record_declaration: 1, record_struct_declaration: 1, delegate_declaration: 1, method_declaration: 1, constructor_declaration: 1, namespace_declaration: 1, file_scoped_namespace_declaration: 1, local_function_statement: 1 },
  ruby: { method: 1, singleton_method: 1, class: 1, module: 1, alias: 1 },
  php: { interface_declaration: 1, trait_declaration: 1, class_declaration: 1, enum_declaration: 1, function_definition: 1, method_declaration: 1, namespace_definition: 1 },
  kotlin: { class_declaration: 1, object_declaration: 1, function_declaration: 1, type_alias: n => n.childForFieldName('type') },
  swift: { class_declaration: 1, protocol_declaration: 1, function_declaration: 1, protocol_function_declaration: 1, typealias_declaration: 1 },
  scala: { trait_definition: 1, enum_definition: 1, class_definition: 1, object_definition: 1, function_definition: 1, function_declaration: 1, type_definition: 1 },
  bash: { function_definition: 1 },
  lua: { field: n => only(n.childForFieldName('value'), 'function_definition') && only(n.childForFieldName('name'), 'identifier'),
    assignment_statement: n => { const v = n.namedChildren.find(k => k.type === 'expression_list'); return v && v.namedChild(0) && v.namedChild(0).type === 'function_definition' ? n.namedChildren.find(k => k.type === 'variable_list').namedChild(0) : null; },
    function_definition_statement: 1, local_function_definition_statement: 1, function_declaration: 1 },
};
const byExtension = {
  go: 'go', py: 'python', pyi: 'python', js: 'javascript', jsx: 'javascript', mjs: 'javascript', cjs: 'javascript', ts: 'typescript', mts: 'typescript', cts: 'typescript', tsx: 'tsx', rs: 'rust', java: 'java',
  c: 'c', h: 'cpp', cc: 'cpp', cpp: 'cpp', cxx: 'cpp', hpp: 'cpp', hh: 'cpp', cs: 'c_sharp', rb: 'ruby', php: 'php', kt: 'kotlin', kts: 'kotlin',
  swift: 'swift', scala: 'scala', sc: 'scala', sh: 'bash', bash: 'bash', lua: 'lua',
};
// grammar returns the grammar's own package, or the collection for what has none.
const grammar = name => {
  const home = { tsx: 'typescript', c_sharp: 'c-sharp' }[name] || name;
  return [`tree-sitter-${home}`, `@tree-sitter-grammars/tree-sitter-${home}`, 'tree-sitter-wasms/out']
    .map(dir => path.join(modules, dir, `tree-sitter-${name}.wasm`)).find(fs.existsSync);
};
(async () => {
  await Parser.init();
  const languages = {};
  for (const file of process.argv.slice(3)) {
    const name = byExtension[path.extname(file).slice(1)];
    if (!name) continue;
    languages[name] ||= await Language.load(grammar(name));
    const parser = new Parser();
    parser.setLanguage(languages[name]);
    const tree = parser.parse(fs.readFileSync(file, 'utf8'));
    const found = new Set(), faulty = new Set();
    const cursor = tree.walk();
    for (let down = true; ;) {
      const n = cursor.currentNode;
      if (down) {
        if (n.type === 'ERROR' || n.isMissing) faulty.add(n.startPosition.row + 1);
        const how = tables[name][n.type];
        let at = how === 1 ? n.childForFieldName('name') : how ? how(n) : null;
        while (at && ['scope_resolution', 'dot_index_expression', 'method_index_expression', 'setter'].includes(at.type)) at = at.childForFieldName('name') || at.childForFieldName('field') || at.childForFieldName('method') || at.namedChild(0);
        if (at) found.add(`${file}\t${at.startPosition.row + 1}\t${at.text.replace(/\s+/g, '')}`);
      }
      if (down && cursor.gotoFirstChild()) continue;
      if (cursor.gotoNextSibling()) { down = true; continue; }
      if (!cursor.gotoParent()) break;
      down = false;
    }
    if (faulty.size) console.error(`${file}: ${faulty.size} places that the grammar cannot read`);
    for (const line of found) console.log(line);
    tree.delete(); parser.delete();
  }
})();
