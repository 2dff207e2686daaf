// Usage: node tools/precompress.mjs dist
//
// Builds run this file. It writes a gzip file beside each file of at least 1 KiB in a folder. The gateway
// sends these files to clients that accept gzip, so that it need not compress on each request.
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { constants, gzipSync } from 'node:zlib'

const MIN_BYTES = 1024

const [folder] = process.argv.slice(2)
for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
  const path = join(entry.parentPath, entry.name)
  if (!entry.isFile() || path.endsWith('.gz')) continue
  const bytes = readFileSync(path)
  if (bytes.length < MIN_BYTES) continue
  writeFileSync(`${path}.gz`, gzipSync(bytes, { level: constants.Z_BEST_COMPRESSION }))
}
