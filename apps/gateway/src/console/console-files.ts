import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { extname, join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { consoleAssets } from '../paths'

export interface ConsoleFile {
  type: string
  bytes: Buffer
  gzipped: Buffer
  etag: string
}

const TYPES: Record<string, string> = {
  '.css': 'text/css; charset=utf-8',
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.svg': 'image/svg+xml',
}

const readConsoleFile = (name: string): ConsoleFile => {
  const bytes = readFileSync(join(consoleAssets, name))
  const etag = `"${createHash('sha256').update(bytes).digest('base64url').slice(0, 22)}"`
  return { type: TYPES[extname(name)]!, bytes, gzipped: gzipSync(bytes, { level: 9 }), etag }
}

/** The files of the console by their names, read once: some ten, 60 KB. */
export const readConsoleFiles = (): Map<string, ConsoleFile> => {
  const names = readdirSync(consoleAssets).filter((name) => extname(name) in TYPES)
  return new Map(names.map((name) => [name, readConsoleFile(name)]))
}
