// `--require` loads this file into each process of a stack that is profiled. Node 20 does not accept
// --cpu-prof in NODE_OPTIONS.
import { mkdirSync, writeFileSync } from 'node:fs'
import { Session } from 'node:inspector'
import { basename, dirname, join } from 'node:path'

const folder = process.env['BENCH_PROFILES']
// The script of the gateway is apps/gateway/dist/main.js, for example.
const name = basename(dirname(dirname(process.argv[1] ?? '')))

if (folder && process.argv[1]?.includes(join('apps', name))) {
  const session = new Session()
  session.connect()
  session.post('Profiler.enable')
  // Leaves out the time that it takes to load the service.
  setTimeout(() => session.post('Profiler.start'), 3000).unref()
  process.on('exit', () =>
    session.post('Profiler.stop', (_error, { profile }) => {
      mkdirSync(folder, { recursive: true })
      writeFileSync(join(folder, `${name}.cpuprofile`), JSON.stringify(profile))
    }),
  )
}
