// Traits, closures, sorting and hashing in two threads.
use std::collections::HashMap;

trait Shape {
    fn area(&self, n: u32) -> f64;
}
struct Square(f64);
struct Circle(f64);
impl Shape for Square {
    #[inline(never)]
    fn area(&self, n: u32) -> f64 {
        (0..n).map(|i| self.0 * self.0 / (i + 1) as f64).sum()
    }
}
impl Shape for Circle {
    #[inline(never)]
    fn area(&self, n: u32) -> f64 {
        (0..n).map(|i| 3.14 * self.0 / (i + 1) as f64).sum()
    }
}

fn work(rounds: usize) -> f64 {
    let shapes: Vec<Box<dyn Shape>> = (0..100)
        .map(|i| -> Box<dyn Shape> {
            if i % 2 == 0 { Box::new(Square(i as f64)) } else { Box::new(Circle(i as f64)) }
        })
        .collect();
    let mut names: HashMap<String, usize> = HashMap::new();
    let mut sum = 0.0;
    for k in 0..rounds {
        for i in 0..200 {
            *names.entry(format!("key{}", i * k % 997)).or_insert(0) += i;
        }
        sum += shapes.iter().map(|s| s.area(200)).sum::<f64>();
        let mut sorted: Vec<_> = names.keys().cloned().collect();
        sorted.sort_by(|a, b| b.cmp(a));
        sum += sorted.len() as f64;
    }
    sum
}

fn main() {
    let rounds = std::env::args().nth(1).and_then(|a| a.parse().ok()).unwrap_or(200);
    let thread = std::thread::spawn(move || work(rounds));
    println!("{}", work(rounds) + thread.join().unwrap());
}
