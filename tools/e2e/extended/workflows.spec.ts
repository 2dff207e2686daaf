import { spawnSync } from 'node:child_process'
import { resolve } from 'node:path'
import { findProgram } from './chart/find-program.fixture'

const found = findProgram('actionlint')
if ('reason' in found) console.warn(`SKIPPED: the spec of workflows. ${found.reason}.`)
const testIfFound = 'binary' in found ? test : test.skip

testIfFound("GitHub's workflows are valid", () => {
  const { binary } = found as { binary: string }
  const answer = spawnSync(binary, { cwd: resolve(__dirname, '../../..'), encoding: 'utf8' })
  expect(answer).toMatchObject({ status: 0, stdout: '' })
})
