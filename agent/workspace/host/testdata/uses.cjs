// Prints the exported definitions of a TypeScript project with all lines that name them, as the checker
// of tsc resolves them: [{file, line, column, name, uses: ["file:line"]}].
// Usage: node uses.cjs DIRECTORY-OF-TYPESCRIPT PROJECT
const path = require('path');
const ts = require(process.argv[2]);
const root = process.argv[3];
const config = ts.getParsedCommandLineOfConfigFile(path.join(root, 'tsconfig.json'), {}, {
  ...ts.sys, onUnRecoverableConfigFileDiagnostic: (d) => { throw new Error(JSON.stringify(d.messageText)); },
});
const program = ts.createProgram(config.fileNames, config.options);
const checker = program.getTypeChecker();
const own = program.getSourceFiles().filter((f) => f.fileName.startsWith(root + '/'));
const place = (node) => {
  const file = node.getSourceFile();
  const at = file.getLineAndCharacterOfPosition(node.getStart());
  return { file: path.relative(root, file.fileName), line: at.line + 1, column: at.character + 1 };
};
const resolved = (symbol) => symbol && (symbol.flags & ts.SymbolFlags.Alias) ? checker.getAliasedSymbol(symbol) : symbol;
const uses = new Map();
const visit = (node) => {
  if (ts.isIdentifier(node)) {
    const symbols = [checker.getSymbolAtLocation(node)];
    if (ts.isShorthandPropertyAssignment(node.parent)) symbols.push(checker.getShorthandAssignmentValueSymbol(node.parent));
    if (ts.isExportSpecifier(node.parent)) symbols.push(checker.getExportSpecifierLocalTargetSymbol(node.parent));
    for (const symbol of symbols.map(resolved)) {
      if (!symbol) continue;
      if (!uses.has(symbol)) uses.set(symbol, new Set());
      const p = place(node);
      uses.get(symbol).add(p.file + ':' + p.line);
    }
  }
  node.forEachChild(visit);
  (node.jsDoc ?? []).forEach(visit); // links in comments are uses
};
own.forEach((file) => file.forEachChild(visit));
const out = [];
for (const [symbol, lines] of uses) {
  const declared = (symbol.declarations ?? []).find((d) => d.name && ts.isIdentifier(d.name) && own.includes(d.getSourceFile()));
  if (!declared || !(ts.getCombinedModifierFlags(declared) & ts.ModifierFlags.Export)) continue;
  out.push({ ...place(declared.name), name: symbol.name, uses: [...lines] });
}
process.stdout.write(JSON.stringify(out));
