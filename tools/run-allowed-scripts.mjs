// `npm run allowed-scripts` runs this file. Use it after an `npm ci`, which runs no install scripts here.
import { root } from './bootstrap/common.mjs'
import { runInstallScripts } from './bootstrap/install-scripts.mjs'

const { status } = await runInstallScripts(root)
process.exit(status ?? 1)
