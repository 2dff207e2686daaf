import { join, resolve } from 'node:path'

/** The root of the checkout. The relative path is the same from src (in specs) and from dist. */
export const repositoryRoot = resolve(__dirname, '../../..')

/** Returns the folder of fetched and built binaries: LEADWIRE_CACHE, or `.cache/` in the checkout. */
export function cacheDirectory(env: NodeJS.ProcessEnv): string {
  return resolve(env['LEADWIRE_CACHE'] || join(repositoryRoot, '.cache'))
}

/** Returns the folder of a stack's state: LEADWIRE_DATA, or `.data/` in the checkout. */
export function dataDirectory(env: NodeJS.ProcessEnv): string {
  return resolve(env['LEADWIRE_DATA'] || join(repositoryRoot, '.data'))
}
