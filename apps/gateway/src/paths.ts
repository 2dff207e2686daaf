import { resolve } from 'node:path'

/** Found from `src` and from `dist`. */
export const consoleAssets = resolve(__dirname, '../console-assets')

/** Made by build-docs.mjs from `docs-assets` and docs/guides. */
export const docsPages = resolve(__dirname, '../dist/docs')
