// Part of the images' build: node deploy/list-packages.mjs SBOM PROJECT
// Writes to PROJECT/dist/licences the lists of the npm packages that the built program contains:
//   sbom.cdx.json   a CycloneDX document, a part of SBOM, which `npm sbom` generated for the whole repository
//   licences.txt    name, version, licence and licence text of each package
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

// Browser code that the gateway serves, in addition to the code in dist/main.js (tools/bundle.mjs).
const COPIED = { 'apps/gateway': ['openapi-explorer', '@leadwire/console'] }

const readJson = (...path) => JSON.parse(readFileSync(join(...path), 'utf8'))
const [sbomFile, project] = process.argv.slice(2)
const sbom = readJson(sbomFile)

const find = (name, from) => {
  const path = join(from, 'node_modules', name)
  if (existsSync(path)) return path
  if (from === '.') throw new Error(`${name} is not installed`)
  return find(name, dirname(from))
}
const withNeeds = (path, found = new Set()) => {
  if (found.has(path)) return found
  found.add(path)
  for (const name of Object.keys(readJson(path, 'package.json').dependencies ?? {})) {
    withNeeds(find(name, path), found)
  }
  return found
}

const bundled = readJson(project, 'dist/packages.json').map((path) => join(project, path))
const copied = (COPIED[project] ?? []).flatMap((name) => [...withNeeds(find(name, project))])
const readRef = (path) => {
  const { name, version } = readJson(path, 'package.json')
  return `${name}@${version}`
}
const folders = new Map([...bundled, ...copied].map((path) => [readRef(path), path]))
const refs = [...folders.keys()].toSorted()

const findComponent = (ref) => {
  const component = sbom.components.find((one) => one['bom-ref'] === ref)
  if (!component) throw new Error(`${sbomFile} has no ${ref}`)
  return component
}
const renderLicence = ({ licenses }) =>
  licenses.map(({ license, expression }) => expression ?? license.id ?? license.name).join(', ')
const readLicenceTexts = (path) =>
  readdirSync(path)
    .filter((name) => /^(licen[cs]e|copying|notice)/i.test(name))
    .map((name) => readFileSync(join(path, name), 'utf8').trim())
const describe = (ref) =>
  [`${ref}: ${renderLicence(findComponent(ref))}`, ...readLicenceTexts(folders.get(ref))].join('\n\n')

const program = readRef(project)
const cut = {
  ...sbom,
  metadata: { ...sbom.metadata, component: { ...findComponent(program), type: 'application' } },
  components: refs.map(findComponent),
  dependencies: [
    { ref: program, dependsOn: refs },
    ...sbom.dependencies
      .filter(({ ref }) => folders.has(ref))
      .map(({ ref, dependsOn }) => ({ ref, dependsOn: dependsOn.filter((one) => folders.has(one)) })),
  ],
}

const out = join(project, 'dist/licences')
mkdirSync(out, { recursive: true })
writeFileSync(join(out, 'sbom.cdx.json'), `${JSON.stringify(cut, null, 1)}\n`)
writeFileSync(join(out, 'licences.txt'), `${refs.map(describe).join(`\n\n${'-'.repeat(80)}\n\n`)}\n`)
