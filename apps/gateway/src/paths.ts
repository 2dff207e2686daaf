import { resolve } from 'node:path'

/** The folder that the build of libs/console writes. The path is the same from `src` and from `dist`. */
export const consoleFiles = resolve(__dirname, '../../../libs/console/dist')

/** The folder that build-docs.mjs writes, from `docs-assets` and docs/guides. */
export const docsPages = resolve(__dirname, '../dist/docs')
