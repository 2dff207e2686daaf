import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'

export type ObjectStoreDirectory = { path: string; url: string; remove(): Promise<void> }

/** Creates an empty folder for a `file://` object store. */
export async function objectStoreDirectory(): Promise<ObjectStoreDirectory> {
  const path = await mkdtemp(join(tmpdir(), 'leadwire-store-'))
  return { path, url: pathToFileURL(path).href, remove: () => rm(path, { recursive: true, force: true }) }
}
