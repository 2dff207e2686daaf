import { resolve } from 'node:path'

/** Made by the build of libs/console. Found from `src` and from `dist`. */
export const consoleFiles = resolve(__dirname, '../../../libs/console/dist')

/** Made by build-docs.mjs from `docs-assets` and docs/guides. */
export const docsPages = resolve(__dirname, '../dist/docs')
