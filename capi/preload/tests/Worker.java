import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Semaphore;

/** Threads that make garbage: HotSpot's collectors hand out their work by sem_t, and so does what prints a dump on SIGQUIT. */
class Worker {
    public static void main(String[] arguments) throws InterruptedException, IOException {
        int threads = 4, rounds = 300;
        Semaphore done = new Semaphore(0);
        long[] sums = new long[threads];
        for (int t = 0; t < threads; t++) {
            int mine = t;
            new Thread(() -> {
                List<byte[]> kept = new ArrayList<>();
                for (int round = 0; round < rounds; round++) {
                    byte[] garbage = new byte[256 << 10];
                    garbage[round] = 1;
                    kept.add(garbage);
                    if (kept.size() > 16) kept.remove(0);
                    sums[mine] += garbage[round];
                }
                done.release();
            }).start();
        }
        done.acquire(threads);
        for (int collection = 0; collection < 20; collection++) System.gc();
        long sum = 0;
        for (long part : sums) sum += part;
        System.out.println("sum " + sum);
        // Until the dump has been printed and the script ends this.
        System.in.transferTo(java.io.OutputStream.nullOutputStream());
    }
}
