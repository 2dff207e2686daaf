import { resolve } from 'node:path'

/** Beside `src` and `dist` alike, so that what is served is what is in the package, built or not. */
export const consoleAssets = resolve(__dirname, '../console-assets')

/** What the build makes of `docs-assets` and docs/guides (build-docs.mjs). */
export const docsPages = resolve(__dirname, '../dist/docs')
