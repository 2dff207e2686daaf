// A profiled stack loads this file into each of its processes with `--require`. This file replaces
// --cpu-prof, which Node 20 does not accept in NODE_OPTIONS.
import { mkdirSync, writeFileSync } from 'node:fs'
import { Session } from 'node:inspector'
import { basename, dirname, join } from 'node:path'

const folder = process.env['BENCH_PROFILES']
// The name of the service: `gateway` if the script is apps/gateway/dist/main.js, for example.
const name = basename(dirname(dirname(process.argv[1] ?? '')))

if (folder && process.argv[1]?.includes(join('apps', name))) {
  const session = new Session()
  session.connect()
  session.post('Profiler.enable')
  // Starts after 3 s, so that the profile leaves out the loading of the service.
  setTimeout(() => session.post('Profiler.start'), 3000).unref()
  process.on('exit', () =>
    session.post('Profiler.stop', (_error, { profile }) => {
      mkdirSync(folder, { recursive: true })
      writeFileSync(join(folder, `${name}.cpuprofile`), JSON.stringify(profile))
    }),
  )
}
