// Every package that is used in production has a licence that Leadwire may be shipped with. A package with a choice
// ("A OR B") has to be allowed in each, so that it is reviewed.
import { execFileSync } from 'node:child_process'

const ALLOWED = new Set([
  ...[
    '0BSD',
    'Apache-2.0',
    'BlueOak-1.0.0',
    'BSD-2-Clause',
    'BSD-3-Clause',
    'ISC',
    'MIT',
    'MIT-0',
    'Unlicense',
    'Zlib',
  ],
])

const npm = process.env.npm_execpath?.endsWith('npm-cli.js')
  ? [process.execPath, process.env.npm_execpath]
  : ['npm']
const [command, ...first] = npm
const packages = JSON.parse(
  execFileSync(command, [...first, 'query', '.prod'], {
    encoding: 'utf8',
    maxBuffer: 64 * 1024 * 1024,
    stdio: ['ignore', 'pipe', 'ignore'],
  }),
)

// Old packages have a list of {"type": "MIT"}.
const namesOf = ({ license, licenses }) =>
  [license ?? licenses ?? 'none']
    .flat()
    .flatMap((one) => String(one.type ?? one).split(/\s+(?:AND|OR)\s+|[()]/))
    .filter((name) => name !== '')

const refused = packages.filter((one) => !namesOf(one).every((name) => ALLOWED.has(name)))
for (const one of refused) console.error(`${one.name}@${one.version}: ${namesOf(one).join(', ')}`)
console.error(`licences: ${packages.length} packages, ${refused.length} with a licence that is not allowed`)
process.exit(packages.length > 0 && refused.length === 0 ? 0 : 1)
