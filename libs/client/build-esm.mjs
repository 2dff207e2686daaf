// Bundles the package as one ES module. Runs after `tsc --build`, which writes the CommonJS modules.
import { writeFile } from 'node:fs/promises'
import { build } from 'esbuild'

await build({
  entryPoints: ['src/index.ts'],
  outfile: 'dist/index.mjs',
  bundle: true,
  platform: 'neutral',
  format: 'esm',
  target: 'es2022',
  packages: 'external',
  logLevel: 'warning',
})
await writeFile('dist/index.d.mts', "export * from './index.js'\n")
