import { resolve } from 'node:path'

/** Beside `src` and `dist` alike, so that what is served is what is in the package, built or not. */
export const consoleAssets = resolve(__dirname, '../console-assets')
