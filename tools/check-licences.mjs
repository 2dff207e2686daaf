// Checks that every production dependency has a licence under which Leadwire may ship it. If a package offers
// a choice ("A OR B"), each licence must be allowed; otherwise a person must review the choice.
import { execFileSync } from 'node:child_process'

const ALLOWED = new Set([
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

/**
 * Returns the licences of a package. Old packages have a list of objects such as {"type": "MIT"} instead of a
 * text.
 */
const listLicences = ({ license, licenses }) =>
  [license ?? licenses ?? 'none']
    .flat()
    .flatMap((licence) => String(licence.type ?? licence).split(/\s+(?:AND|OR)\s+|[()]/))
    .filter((name) => name !== '')

const refused = packages.filter((dependency) => !listLicences(dependency).every((name) => ALLOWED.has(name)))
for (const dependency of refused)
  console.error(`${dependency.name}@${dependency.version}: ${listLicences(dependency).join(', ')}`)
console.error(`licences: ${packages.length} packages, ${refused.length} with a licence that is not allowed`)
process.exit(packages.length > 0 && refused.length === 0 ? 0 : 1)
