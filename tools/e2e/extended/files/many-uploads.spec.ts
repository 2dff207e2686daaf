import { readFile } from 'node:fs/promises'
import { multipartBody } from '../../support/client'
import { PNG } from '../../support/samples'
import { type Stage, startStage } from '../../support/stage'

const MEBIBYTE = 1024 * 1024
const FILE = Buffer.concat([PNG, Buffer.alloc(10 * MEBIBYTE - PNG.length)])
const ACCOUNTS = 5
const UPLOADS_OF_EACH = 20

let stage: Stage
beforeAll(async () => {
  stage = await startStage()
})
afterAll(() => stage.stop())

/** Returns the peak of the resident memory in MiB. */
const readPeak = async (name: string) => {
  const status = await readFile(`/proc/${stage.system.pid(name)}/status`, 'utf8')
  return Number(/^VmHWM:\s+(\d+) kB/m.exec(status)![1]) / 1024
}

// Skips the spec on other systems, because only Linux has /proc.
const testOnLinux = process.platform === 'linux' ? test : test.skip

testOnLinux(
  'a hundred concurrent uploads of 10 MiB need less than 256 MiB each in gateway and files-service',
  async () => {
    const body = multipartBody(
      [
        { name: 'name', value: 'A file' },
        { name: 'file', value: FILE, fileName: 'a.png' },
      ],
      'b',
    )
    const headers = { 'content-type': 'multipart/form-data; boundary=b' }
    const tenants = await Promise.all(Array.from({ length: ACCOUNTS }, () => stage.newTenant()))
    const uploads = tenants.map(async (tenant) => {
      const { reference } = await tenant.createLead()
      const upload = () => tenant.client.request('POST', `/leads/${reference}/attachments`, { body, headers })
      return Promise.all(Array.from({ length: UPLOADS_OF_EACH }, upload))
    })
    const answers = (await Promise.all(uploads)).flat()
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200))
    for (const name of ['gateway', 'files-service']) {
      const peak = await readPeak(name)
      expect([name, peak < 256]).toEqual([name, true])
    }
  },
  // Allows five minutes. The spec sends, hashes and writes a gibibyte, which takes long on a busy machine.
  300_000,
)
