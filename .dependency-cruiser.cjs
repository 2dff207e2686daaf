// Takes the allowed directions of imports from the Nx tags in each package.json, so that the graph of Nx and
// the real imports obey the same rules. Nx's own check is not used, because it needs typescript-eslint, which
// does not support TypeScript 7.
const { existsSync, readFileSync, readdirSync } = require('node:fs')

const projects = ['apps', 'libs', 'tools'].flatMap((root) =>
  readdirSync(root)
    .map((name) => `${root}/${name}`)
    .filter((dir) => existsSync(`${dir}/package.json`))
    .map((dir) => ({ dir, tags: JSON.parse(readFileSync(`${dir}/package.json`, 'utf8')).nx.tags })),
)
const tagged = (tag) => {
  const dirs = projects.filter((project) => project.tags.includes(tag)).map((project) => project.dir)
  return `^(${dirs.join('|')})/`
}

module.exports = {
  forbidden: [
    {
      name: 'apps-never-import-apps',
      severity: 'error',
      from: { path: '^apps/([^/]+)/' },
      to: { path: tagged('type:app'), pathNot: '^apps/$1/' },
    },
    {
      name: 'libs-never-import-apps',
      severity: 'error',
      from: { path: tagged('type:lib') },
      to: { path: tagged('type:app') },
    },
    {
      name: 'only-specs-import-test-kit',
      severity: 'error',
      from: { pathNot: [tagged('type:test-kit'), tagged('type:e2e'), '\\.spec\\.ts$', '\\.fixture\\.ts$'] },
      to: { path: tagged('type:test-kit') },
    },
    {
      name: 'products-never-import-tools',
      severity: 'error',
      from: { path: [tagged('type:app'), tagged('type:lib')] },
      to: { path: tagged('type:tool') },
    },
    { name: 'no-cycles', severity: 'error', from: {}, to: { circular: true } },
    {
      name: 'libraries-by-their-root',
      comment: 'No reaching into another project’s folders: what its package exports is its public door.',
      severity: 'error',
      from: { path: '^(apps|libs|tools)/([^/]+)/' },
      to: {
        path: '^libs/[^/]+/src/.+',
        pathNot: [
          '^libs/[^/]+/src/index\\.ts$',
          '^libs/(service-kit/src/runtime|contracts/src/(event-types|import-columns|roles|scopes))\\.ts$',
          '^$1/$2/',
        ],
      },
    },
    { name: 'no-unresolvable', severity: 'error', from: {}, to: { couldNotResolve: true } },
  ],
  options: {
    parser: 'swc',
    // dependency-cruiser can't read TSX with swc. Biome checks the console's imports.
    exclude: { path: ['(^|/)(dist|generated|node_modules|generated-clients)/', '\\.tsx$'] },
    doNotFollow: { path: '(^|/)(dist|generated|node_modules)/' },
    enhancedResolveOptions: {
      exportsFields: ['exports'],
      conditionNames: ['@leadwire/source', 'require', 'node', 'default'],
      extensions: ['.ts', '.tsx', '.js', '.json'],
    },
  },
}
