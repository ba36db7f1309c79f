// BullMQ as programs of Node use it.  One order as JSON in the arguments, one answer as JSON on stdout.
const { Queue, Worker } = require("bullmq")

const [url, words] = process.argv.slice(2)
const order = JSON.parse(words)
const { hostname: host, port } = new URL(url)
const connection = { host, port: Number(port) }

// Every job once or more, until so many have ended for good, or stdin is closed.  `fails`: how often a job fails first, by its id.
async function consume({ queue, ends, fails = {} }) {
  const seen = []
  let left = ends
  await new Promise((resolve) => {
    const over = () => --left <= 0 && resolve()
    const worker = new Worker(
      queue,
      async (job) => {
        seen.push({
          id: job.id, name: job.name, data: job.data, attemptsMade: job.attemptsMade,
          waited: job.processedOn - job.timestamp, opts: job.opts,
        })
        if (job.attemptsMade < (fails[job.id] || 0)) throw new Error(`node cannot do ${job.id}`)
        return { worthProcessing: true, by: "node" }
      },
      { connection, concurrency: 1, drainDelay: 1 },
    )
    worker.on("completed", over)
    worker.on("failed", (job) => job.attemptsMade >= job.opts.attempts && over())
    process.stdin.on("end", resolve).resume()
  })
  return seen
}

async function produce({ queue, jobs }) {
  const made = new Queue(queue, { connection })
  const ids = []
  for (const { name, data, opts } of jobs) ids.push((await made.add(name, data, opts)).id)
  return ids
}

async function look({ queue, ids }) {
  const asked = new Queue(queue, { connection })
  const found = {}
  for (const id of ids) {
    const job = await asked.getJob(id)
    found[id] = job && {
      state: await job.getState(), attemptsMade: job.attemptsMade, failedReason: job.failedReason,
      returnvalue: job.returnvalue, stacktrace: job.stacktrace, opts: job.opts,
    }
  }
  return { jobs: found, counts: await asked.getJobCounts() }
}

async function retry({ queue, id }) {
  const job = await new Queue(queue, { connection }).getJob(id)
  await job.retry("failed")
  return true
}

setTimeout(() => process.exit(2), 180000).unref() // never left behind
const ORDERS = { consume, produce, look, retry }
ORDERS[order.do](order).then(
  (answer) => { console.log(JSON.stringify(answer)); process.exit(0) },
  (error) => { console.error(error); process.exit(1) },
)
