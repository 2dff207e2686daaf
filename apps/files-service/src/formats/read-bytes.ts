import type { FileHandle } from 'node:fs/promises'

/** Returns up to `length` bytes of a file, starting at byte `from`. Returns fewer at the end of the file. */
export const readBytes = async (file: FileHandle, from: number, length: number): Promise<Buffer> => {
  const { bytesRead, buffer } = await file.read(Buffer.alloc(length), 0, length, from)
  return buffer.subarray(0, bytesRead)
}
