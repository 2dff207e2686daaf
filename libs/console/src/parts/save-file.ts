import { Problem } from '../api'

/** Saves what is loaded as a file of this name. */
export const saveFile = async (name: string, load: () => Promise<Blob>): Promise<void> => {
  const link = document.createElement('a')
  link.href = URL.createObjectURL(await load().catch(brokenOff))
  link.download = name
  link.click()
  // Chromium reads it after the click.
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000)
}

const brokenOff = (error: unknown): never => {
  if (error instanceof Problem) throw error
  const detail = 'The connection broke off, and the file is not complete.'
  throw new Problem(0, { title: 'No file', detail })
}

export const jsonFile = (data: unknown): Blob =>
  new Blob([JSON.stringify(data, null, 2)], { type: 'application/json' })
