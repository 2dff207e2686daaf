import { join, resolve } from 'node:path'

/** The checkout this code lives in; the same from src (specs) and from dist. */
export const repositoryRoot = resolve(__dirname, '../../..')

/** Where fetched and built binaries are kept: `.cache/` in the checkout, or LEADWIRE_CACHE. */
export function cacheDirectory(env: NodeJS.ProcessEnv): string {
  return resolve(env['LEADWIRE_CACHE'] || join(repositoryRoot, '.cache'))
}

/** Where a stack keeps its state: `.data/` in the checkout, or LEADWIRE_DATA. */
export function dataDirectory(env: NodeJS.ProcessEnv): string {
  return resolve(env['LEADWIRE_DATA'] || join(repositoryRoot, '.data'))
}
