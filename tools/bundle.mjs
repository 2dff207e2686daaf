// Run in a project's folder after its `tsc --build`: puts src/main.ts and all it needs into one dist/main.js. A service
// then loads in 150-200 ms of processor time instead of 370-550 (several hundred files are neither looked for nor
// parsed whole, and what a program does not use of a library it does not load), and takes some 20 MiB less.
import { statSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build, context } from 'esbuild'

// What knex names for databases we don't have.
const otherDatabases = [
  'better-sqlite3',
  'mariadb',
  'mysql',
  'mysql2',
  'oracledb',
  'pg-query-stream',
  'sqlite3',
  'tedious',
]

const options = {
  metafile: true,
  entryPoints: ['src/main.ts'],
  outfile: 'dist/main.js',
  bundle: true,
  platform: 'node',
  format: 'cjs',
  target: 'node20.19',
  conditions: ['@leadwire/source'],
  // ES modules first: only of those can esbuild leave out what is unused.
  mainFields: ['module', 'main'],
  external: [...otherDatabases, 'pg-native'],
  // Comments of libraries have characters beyond Latin-1: V8 then keeps the whole text at two bytes a character, 7 MiB more
  // in each service. Lines are kept short, because Node prints the one that threw.
  ...{ minifyWhitespace: true, legalComments: 'none', lineLimit: 200 },
  sourcemap: true,
  sourcesContent: false,
  logLevel: 'warning',
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const { metafile } = await build(options)
  // What is in the file, for lists of what an image holds: folders of packages, seen from the project's folder.
  const used = Object.values(metafile.outputs).flatMap(({ inputs }) =>
    Object.keys(inputs).filter((path) => inputs[path].bytesInOutput > 0),
  )
  const folders = used.map((path) => /^.*\/node_modules\/(?:@[^/]+\/)?[^/]+/.exec(path)?.[0])
  writeFileSync('dist/packages.json', JSON.stringify([...new Set(folders.filter(Boolean))].toSorted()))
}

// What is installed is loaded as it is: to put it into the file again would take a second of processor time after each change.
const installed = {
  name: 'installed',
  setup: ({ onResolve }) =>
    onResolve({ filter: /^[^./]/ }, ({ path, kind, importer }) => {
      if (kind === 'entry-point' || path.startsWith('@leadwire/') || importer.includes('/node_modules/'))
        return
      return { path: createRequire(importer).resolve(path), external: true }
    }),
}

/**
 * Answers with a function that bundles the project in `folder` again, without parsing anew what did not change. It answers with
 * whether its program changed and with the folders of the sources, and throws what esbuild has to say of an error.
 */
export async function rebundling(folder) {
  const bundle = await context({
    ...options,
    absWorkingDir: folder,
    plugins: [installed],
    write: false,
    logLevel: 'silent',
  })
  const timeOf = (path) => statSync(join(folder, path)).mtimeMs
  let last
  return async () => {
    const { outputFiles, metafile } = await bundle.rebuild()
    const sources = Object.keys(metafile.inputs).filter((path) => !path.includes('node_modules/'))
    const { text } = outputFiles.find(({ path }) => path.endsWith('.js'))
    // Before the first time dist/main.js is what the build made.
    const changed =
      last === undefined ? sources.some((path) => timeOf(path) > timeOf('dist/main.js')) : text !== last
    last = text
    if (changed) for (const { path, contents } of outputFiles) writeFileSync(path, contents)
    return { changed, folders: new Set(sources.map((path) => join(folder, dirname(path)))) }
  }
}
