// Writes src/generated/descriptors.ts: all .proto files as a google.protobuf.FileDescriptorSet, which gRPC
// server reflection serves to tools such as grpcurl. The set is text in a module, so that each program
// stays a single file.
import { execFileSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'

const descriptors = execFileSync('buf', ['build', '--exclude-source-info', '-o', '-#format=binpb'])
writeFileSync(
  'src/generated/descriptors.ts',
  `export const DESCRIPTORS = Buffer.from('${descriptors.toString('base64')}', 'base64')\n`,
)
