import { resolve } from 'node:path'

/** The output of the build of libs/console. The path is the same from `src` and from `dist`. */
export const consoleFiles = resolve(__dirname, '../../../libs/console/dist')

/** The output of build-docs.mjs, from `docs-assets` and docs/guides. */
export const docsPages = resolve(__dirname, '../dist/docs')
