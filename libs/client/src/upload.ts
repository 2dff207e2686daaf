export interface FileToSend {
  /** The name of the file without folders. Its extension must match the content. */
  fileName: string
  /**
   * A Blob, such as `openAsBlob(path)` of `node:fs`, or a stream. A request with a stream is never retried.
   */
  content: Blob | ReadableStream<Uint8Array>
  /**
   * Called with the number of bytes sent so far. Needs a `fetch` that streams request bodies, such as Node's.
   */
  onProgress?: (sentBytes: number) => void
}

interface Upload extends FileToSend {
  url: string
  headers: Record<string, string>
  fields: Record<string, string>
  signal?: AbortSignal | undefined
}

// Escapes a name as browsers do (RFC 7578, section 4.2; the HTML standard).
const escapeName = (text: string) =>
  text.replaceAll('\n', '%0A').replaceAll('\r', '%0D').replaceAll('"', '%22')

const renderDisposition = (name: string, fileName?: string) => {
  const file = fileName === undefined ? '' : `; filename="${escapeName(fileName)}"`
  return `Content-Disposition: form-data; name="${escapeName(name)}"${file}\r\n`
}

const streamMultipart = (
  { fields, fileName, content, onProgress }: Upload,
  { boundary, onFailure }: { boundary: string; onFailure: (error: unknown) => void },
): ReadableStream<Uint8Array> => {
  const encoder = new TextEncoder()
  const texts = Object.entries(fields).map(
    ([name, value]) => `--${boundary}\r\n${renderDisposition(name)}\r\n${value}\r\n`,
  )
  const head = `${texts.join('')}--${boundary}\r\n${renderDisposition('file', fileName)}Content-Type: application/octet-stream\r\n\r\n`
  const reader = (content instanceof Blob ? content.stream() : content).getReader()
  let sentBytes = 0
  const sendNext = async (controller: ReadableStreamDefaultController<Uint8Array>) => {
    const { done, value } = await reader.read()
    if (done) {
      controller.enqueue(encoder.encode(`\r\n--${boundary}--\r\n`))
      controller.close()
      return
    }
    sentBytes += value.byteLength
    onProgress?.(sentBytes)
    controller.enqueue(value)
  }
  return new ReadableStream<Uint8Array>({
    start: (controller) => controller.enqueue(encoder.encode(head)),
    pull: (controller) =>
      sendNext(controller).catch((error: unknown) => {
        onFailure(error)
        throw error
      }),
    cancel: (reason) => reader.cancel(reason),
  })
}

const createForm = ({ fields, fileName, content }: Upload) => {
  const form = new FormData()
  for (const [name, value] of Object.entries(fields)) form.set(name, value)
  form.set('file', content as Blob, fileName)
  return form
}

/**
 * Returns 128 random bits as text. Does not use `randomUUID`, which browsers provide only to pages from
 * https.
 */
export const randomId = (): string => crypto.getRandomValues(new Uint32Array(4)).join('-')

/**
 * Creates a request that sends a file. Sends a Blob without `onProgress` as FormData, because not all
 * browsers can stream a request body.
 */
export const createUploadRequest = (upload: Upload): Request => {
  const { url, headers, signal, content, onProgress } = upload
  if (content instanceof Blob && !onProgress)
    return new Request(url, { method: 'POST', ...(signal && { signal }), headers, body: createForm(upload) })
  const boundary = `leadwire-${randomId()}`
  // Aborts the request if the file or onProgress throws. An aborted request is not retried.
  const failed = new AbortController()
  const onFailure = (error: unknown) => failed.abort(error)
  return new Request(url, {
    method: 'POST',
    signal: signal ? AbortSignal.any([signal, failed.signal]) : failed.signal,
    headers: { ...headers, 'content-type': `multipart/form-data; boundary=${boundary}` },
    body: streamMultipart(upload, { boundary, onFailure }),
    // Required for a stream, but still missing in the types of the DOM.
    duplex: 'half',
  } as RequestInit)
}
