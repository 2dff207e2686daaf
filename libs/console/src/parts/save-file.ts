import { Problem } from '../api'

/** Loads data and saves it as a file. */
export const saveFile = async (name: string, load: () => Promise<Blob>): Promise<void> => {
  const link = document.createElement('a')
  link.href = URL.createObjectURL(await load().catch(throwProblem))
  link.download = name
  link.click()
  // Waits before it frees the data, because Chromium reads the data after the click.
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000)
}

const throwProblem = (error: unknown): never => {
  if (error instanceof Problem) throw error
  const detail = 'The connection was lost before the file was complete. Try again.'
  throw new Problem(0, { title: 'Download failed', detail })
}

export const createJsonFile = (data: unknown): Blob =>
  new Blob([JSON.stringify(data, null, 2)], { type: 'application/json' })
