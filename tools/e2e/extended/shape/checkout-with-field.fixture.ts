import { mkdir, mkdtemp, readdir, readFile, rm, symlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { build, type Plugin } from 'esbuild'

const ROOT = resolve(__dirname, '../../../..')
const SERVICES = ['gateway', 'leads-service', 'files-service', 'webhook-service']

const PATCHES = {
  // Adds the field to the table of fields.
  'libs/contracts/src/lead-records.ts': (source: string, field: string) =>
    source.replace(
      /(?=^ {4}postcode: text\({ examples: \['SW1A 1AA'\], \.\.\.personal)/m,
      `    ${field}: nullableText('A test.', personal),\n`,
    ),
  // Adds a migration with the column.
  'apps/leads-service/src/database/migrations/index.ts': (source: string, field: string) =>
    source.replace(
      /(?<=Migration\[\] = \[[^\]]*),\n\]$/m,
      `, {
        name: '9999-test',
        up: async (knex) => void (await knex.raw('ALTER TABLE leads ADD COLUMN ${field} text')),
      }]`,
    ),
}

const patching = (field: string, done: Set<string>): Plugin => ({
  name: 'patch',
  setup: ({ onLoad }) => {
    for (const [path, patch] of Object.entries(PATCHES))
      onLoad({ filter: new RegExp(`/${path}$`) }, async (found) => {
        const source = await readFile(found.path, 'utf8')
        const contents = patch(source, field)
        if (contents !== source) done.add(path)
        return { contents, loader: 'ts' }
      })
  },
})

const linkAll = async (from: string, to: string, without: string) => {
  await mkdir(to, { recursive: true })
  for (const name of await readdir(from))
    if (name !== without) await symlink(join(from, name), join(to, name))
}

/**
 * Builds a checkout whose leads have an additional nullable text field. It differs from the checkout of the
 * specs only in the table of fields and in an additional migration.
 */
export const checkoutWithField = async (
  field: string,
): Promise<{ root: string; remove(): Promise<void> }> => {
  const root = await mkdtemp(join(tmpdir(), 'leadwire-field-'))
  const patched = new Set<string>()
  await linkAll(join(ROOT, 'libs/console'), join(root, 'libs/console'), 'node_modules')
  for (const service of SERVICES) {
    const [from, to] = [join(ROOT, 'apps', service), join(root, 'apps', service)]
    await linkAll(from, to, 'dist')
    await linkAll(join(from, 'dist'), join(to, 'dist'), 'main.js')
    await build({
      entryPoints: [join(from, 'src/main.ts')],
      outfile: join(to, 'dist/main.js'),
      absWorkingDir: from,
      bundle: true,
      platform: 'node',
      format: 'cjs',
      logLevel: 'error',
      conditions: ['@leadwire/source'],
      mainFields: ['module', 'main'],
      external: [
        'better-sqlite3',
        'mariadb',
        'mysql',
        'mysql2',
        'oracledb',
        'pg-query-stream',
        'sqlite3',
        'tedious',
        'pg-native',
      ],
      plugins: [patching(field, patched)],
    })
  }
  if (patched.size !== Object.keys(PATCHES).length) throw new Error(`patched: ${[...patched]}`)
  return { root, remove: () => rm(root, { recursive: true }) }
}
