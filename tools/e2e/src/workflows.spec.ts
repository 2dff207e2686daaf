import { spawnSync } from 'node:child_process'
import { resolve } from 'node:path'
import { findProgram } from './chart/find-program.fixture'

const found = findProgram('actionlint')
if ('reason' in found) console.warn(`The workflows were not checked: ${found.reason}.`)
const tried = 'binary' in found ? test : test.skip

tried("GitHub's workflows are valid", () => {
  const { binary } = found as { binary: string }
  const answer = spawnSync(binary, { cwd: resolve(__dirname, '../../..'), encoding: 'utf8' })
  expect(answer).toMatchObject({ status: 0, stdout: '' })
})
